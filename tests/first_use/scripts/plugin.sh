# A plugin from another distribution: install it, use it, block it.
# expect: "text": "HELLO"
# expect: blocked: 2
mkdir shout
cat >shout/pyproject.toml <<END
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "helmdeck-pack-shout"
version = "1.0"
dependencies = ["helmdeck"]
entry-points.helmdeck.shout = "helmdeck_pack_shout"

[tool.hatch.build.targets.wheel]
include = ["helmdeck_pack_shout.py"]
END
cat >shout/helmdeck_pack_shout.py <<END
from helmdeck_core import Pack, hookimpl


async def shout(context, arguments):
    return {"text": arguments["text"].upper()}


@hookimpl
def helmdeck_packs():
    return [Pack(name="text.shout", version="1", description="Write a text in capitals.", run=shout)]
END
# --target: the environment is shared with the other scripts.
python -m pip install -q --no-deps --no-index --no-build-isolation --disable-pip-version-check --target site ./shout
export PYTHONPATH="$PWD/site"
helmdeck run text.shout --input text=hello
helmdeck --disable-plugin shout run text.shout --input text=hello || echo "blocked: $?"
