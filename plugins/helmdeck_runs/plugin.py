"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "packs_files": "helmdeck_runs.packs.files",  # fs.read, fs.write, fs.list
    "packs_fetch": "helmdeck_runs.packs.fetch",  # http.fetch
    "packs_writing": "helmdeck_runs.packs.writing",  # text.summarize, text.diff, blog.draft
    "packs_images": "helmdeck_runs.packs.images",  # image.generate, chart.plot
    "agent": "helmdeck_runs.agent",  # the program of agent runs, and the pack of tool turns
    "pipelines": "helmdeck_runs.pipelines",  # pipelines of the catalog
    "run_engines": "helmdeck_runs.engines",  # the engines local and dbos
}

COMMANDS = {
    "command_agent": "helmdeck_runs.commands.agent",
    "command_pipeline": "helmdeck_runs.commands.pipeline",
    "command_worker": "helmdeck_runs.commands.worker",
}
