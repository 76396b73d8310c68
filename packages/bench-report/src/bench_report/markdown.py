"""placeholder"""
def render_markdown(report): return "# todo\n"
