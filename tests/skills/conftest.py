"""A whole runtime over a workspace and a settings folder that have skills."""

from tests.hooks.conftest import folder as folder
from tests.hooks.conftest import place as place
