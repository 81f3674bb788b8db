"""Error codes that only OpenAI's Responses API uses."""

from __future__ import annotations

from helmdeck_core import InvalidRequest, LikelyTimeout
from helmdeck_providers.http.error_rules import Cause, ErrorRules, combined_rules
from helmdeck_providers.wire_formats.error_codes import ERROR_RULES as SHARED_RULES

ERROR_RULES = combined_rules(
    SHARED_RULES,
    ErrorRules(
        vague_words={
            "vector_store_timeout": Cause(LikelyTimeout, "upstream"),
            # Problems with an image.
            **dict.fromkeys(
                (
                    "empty_image_file",
                    "failed_to_download_image",
                    "image_file_not_found",
                    "image_file_too_large",
                    "image_parse_error",
                    "image_too_large",
                    "image_too_small",
                    "invalid_base64_image",
                    "invalid_image",
                    "invalid_image_format",
                    "invalid_image_mode",
                    "invalid_image_url",
                    "unsupported_image_media_type",
                ),
                Cause(InvalidRequest),
            ),
        },
    ),
)
