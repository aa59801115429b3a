"""Settings of learners and parameter methods: declared once, read everywhere."""

from tractable.base.settings.declaration import (
    Between,
    Choice,
    Configurable,
    OneOf,
    Setting,
    Space,
    draw_settings,
    plain_settings,
    plain_value,
    redeclare,
    search_space,
    setting,
    settings_of,
)
from tractable.base.settings.registry import Home, Registry, unknown_name
from tractable.base.settings.text import describe_type, did_you_mean, setting_text, settings_from_text

__all__ = [
    "Between",
    "Choice",
    "Configurable",
    "Home",
    "OneOf",
    "Registry",
    "Setting",
    "Space",
    "describe_type",
    "did_you_mean",
    "draw_settings",
    "plain_settings",
    "plain_value",
    "redeclare",
    "search_space",
    "setting",
    "setting_text",
    "settings_from_text",
    "settings_of",
    "unknown_name",
]
