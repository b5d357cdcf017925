"""The assembled runtime of the framework's tests, whose web is one site on loopback."""

from tests.framework.conftest import environ as environ
from tests.framework.conftest import folder as folder
from tests.framework.conftest import online as online
from tests.framework.conftest import opened as opened
from tests.framework.conftest import site as site
