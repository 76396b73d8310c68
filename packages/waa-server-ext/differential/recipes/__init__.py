"""Random calls of every metric the tasks use, as recipes: pairs that match, nearly match, or do not.

Every function takes a seeded `random.Random` and returns one call. What makes a pair differ is drawn
from what people and programs get wrong: a value, a type, a name, an order, a format, a whole file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recipes import browsers, documents, media, settings, spreadsheets, vlc

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from recipes.common import Call, Drawn

__all__ = ["METRICS", "draw"]


def draw(metric: str, rng: Random) -> Call:
    """Return a random call of `metric`: its arguments as recipes, and its options."""
    args, options = METRICS[metric](rng)
    return {"metric": metric, "args": args, "options": options}


METRICS: dict[str, Callable[[Random], Drawn]] = {
    "check_direct_json_object": settings.check_direct_json_object,
    "check_edge_font_size": browsers.font_size,
    "check_enabled_experiments": browsers.check_enabled_experiments,
    "check_font_size": browsers.font_size,
    "check_global_key_play_pause": vlc.setting(
        "global-key-play-pause", "expected_global_key_play_pause", [1, 0, "Media Play Pause", ""]
    ),
    "check_highlighted_words": documents.check_highlighted_words,
    "check_history_deleted": browsers.check_history_deleted,
    "check_italic_font_size_14": documents.two_documents,
    "check_json_keybindings": settings.check_json_keybindings,
    "check_json_settings": settings.check_json_settings,
    "check_one_instance_when_started_from_file": vlc.setting(
        "one-instance-when-started-from-file",
        "expected_one_instance_when_started_from_file",
        [0, 1, "1", ""],
    ),
    "check_qt_bgcone": vlc.setting("qt-bgcone", "expected_qt_bgcone", [0, 1, "0", ""]),
    "check_qt_max_volume": vlc.setting(
        "qt-max-volume", "expected_qt_max_volume", [100, 125, 200, "100"]
    ),
    "check_qt_minimal_view": vlc.setting(
        "qt-minimal-view", "expected_qt_minimal_view", [0, 1, "1"]
    ),
    "check_qt_slider_colours": vlc.check_qt_slider_colours,
    "check_qt_video_resize": vlc.setting(
        "qt-video-autoresize", "qt-video-autoresize", [0, 1, "1", ""]
    ),
    "check_tabstops": documents.check_tabstops,
    "compare_audios": media.compare_audios,
    "compare_docx_files": documents.compare_docx_files,
    "compare_docx_tables": documents.two_documents,
    "compare_font_names": documents.compare_font_names,
    "compare_highlighted_text": documents.two_documents,
    "compare_images": media.compare_images,
    "compare_line_spacing": documents.two_documents,
    "compare_pdfs": media.compare_pdfs,
    "compare_subscript_contains": documents.two_documents,
    "compare_table": spreadsheets.compare_table,
    "compare_text_file": settings.compare_text_file,
    "compare_videos": media.compare_videos,
    "compare_zip_files": media.compare_zip_files,
    "evaluate_strike_through_last_paragraph": documents.two_documents,
    "exact_match": settings.exact_match,
    "find_default_font": documents.find_default_font,
    "has_page_numbers_in_footers": documents.one_document,
    "is_added_to_steam_cart": browsers.is_added_to_steam_cart,
    "is_cookie_deleted": browsers.is_cookie_deleted,
    "is_expected_active_tab": browsers.is_expected_active_tab,
    "is_expected_bookmarks": browsers.is_expected_bookmarks,
    "is_expected_tabs": browsers.is_expected_tabs,
    "is_extension_installed": settings.is_extension_installed,
    "is_first_line_centered": documents.one_document,
    "is_shortcut_on_desktop": browsers.is_shortcut_on_desktop,
    "is_url_shortcut_on_desktop": browsers.is_url_shortcut_on_desktop,
    "is_vlc_recordings_folder": vlc.is_vlc_recordings_folder,
}
