"""What importing the widgets costs: no voice of the model, which a page that only shows recordings never needs."""

import subprocess
import sys

CODE = """
import sys
import emqlab_widgets
import emqlab.teach.judge
print([name for name in sys.modules if name.startswith(("emqlab.parity.model", "emqlab.parity.explain"))])
"""


def test_the_third_voice_is_loaded_where_it_is_asked() -> None:
    """Not by an import of the widgets, the exercises, or a history."""
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
