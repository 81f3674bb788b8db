# The result of an MCP server's tools/list as a catalog.
# expect: read_file
# expect: "path": "notes.txt"
cat >mcp.json <<END
{"jsonrpc": "2.0", "id": 1, "result": {"tools": [
  {"name": "read_file", "description": "Read a text file.",
   "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}},
  {"name": "list_directory", "description": "List the files of a directory.",
   "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}
]}}
END
helmdeck plan --catalog mcp.json --json "read the file notes.txt"
