"""Images from words, by any endpoint that speaks OpenAI's."""

from sam_tui.adapters.images.endpoint import EndpointImages
from sam_tui.adapters.images.settings import ImageSettings, image_settings

__all__ = ["EndpointImages", "ImageSettings", "image_settings"]
