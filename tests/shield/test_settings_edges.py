"""Which values of environments and env files are secrets, at the edges of length and form."""

import pytest

from sam_tui.core.redaction.settings_files import secrets_of_env_file, secrets_of_environment


@pytest.mark.requirement("shield:environment")
@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("k3y4w0r", False), ("k3y4w0rd", True), ("/k3y4w0rd", False), ("k/3y4w0rd", True),
        ("/k3y,w0rd", False), ("disabled", True), ("localhost-x", False), ("12345678", False),
        ("prod_8sJk29fLmQ0xTz4W", True), ("/8sJk29fLmQ0x/Tz4WcVb1Nm", False),
        ("/8sJk29fLmQ0xTz4W/cVb1Nm", True), ("/home/me/Keys-2024-11-29.pem", False),
        ("test-user-20230101", False), ("${My_Key_8sJk29fLmQ0xTz4W}", False),
    ],
)  # fmt: skip
def test_a_variable_of_a_telling_name_is_secret_by_its_length_and_form(
    value: str, *, secret: bool
) -> None:
    assert secrets_of_environment({"API_KEY": value}) == ({"API_KEY": value} if secret else {})
    assert secrets_of_environment({"COLOUR": value}) == {}


@pytest.mark.requirement("shield:environment")
@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("API_KEY=k3y4w0rd", "k3y4w0rd"), ("API_KEY=k3", ""), ("API_KEY=<secret:a>k3y4w0rd", ""),
        ("COLOUR=a1b2c3defghijklmnopq", "a1b2c3defghijklmnopq"), ("COLOUR=a1b2c3defghijklmnop", ""),
        ("COLOUR=a1b2cdefghijklmnopqr", ""), ("COLOUR=a1b2c3 defghijklmnopq", ""),
        ("COLOUR=a1b2c3://defghijklmnopq", ""), ("  export API_KEY = k3y4w0rd # note", "k3y4w0rd"),
        (r'API_KEY="k3\n\"4w0rd"', 'k3\n"4w0rd'), (r"API_KEY='k3\n4w0rd'", r"k3\n4w0rd"),
        ("API_KEY=dev8sJk29fLmQ0xTz4W", "dev8sJk29fLmQ0xTz4W"), ("API_KEY=dev-machine-1", ""),
        ("API_KEY=", ""), ("# API_KEY=k3y4w0rd", ""), ("API_KEY=true", ""),
    ],
)  # fmt: skip
def test_a_line_of_an_env_file_is_secret_by_its_name_or_by_a_long_value_with_digits(
    line: str, value: str
) -> None:
    assert list(secrets_of_env_file(f"A=b\n{line}\nC=d\n").values()) == ([value] if value else [])
