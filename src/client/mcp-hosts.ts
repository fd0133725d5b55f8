/**
 * The common MCP hosts and how each takes a server: by a file of JSON, or by a command of its own. Shown in the console,
 * written by `longshore mcp install`.
 */
export interface Connection {
  /** Address of the platform, without a path. */
  url: string
  token: string
  /** Folder of Longshore on the machine of the agent, or null to run the published package with npx; for stdio. */
  folder: string | null
  /** Environment of the program instead of `LONGSHORE_URL` and `LONGSHORE_TOKEN`; for stdio. */
  env?: Readonly<Record<string, string>>
  /** Options that narrow the agent, such as `--read-only`; for stdio. */
  flags?: readonly string[]
}

export type Transport = 'stdio' | 'http'

/** Folders of a person on this machine. */
export interface UserFolders {
  home: string
  /** `~/.config`, `~/Library/Application Support` or `%APPDATA%`. */
  config: string
}

interface McpHost {
  name: string
  /** Where to put the text. */
  place: string
  stdio: (connection: Connection) => string
  http?: (connection: Connection) => string
  /** The host's own configuration file, its object of servers, and our entry in it. */
  file?: { path: (folders: UserFolders) => string; key: string; entry: (connection: Connection) => object }
  /** The host's own command that adds a server, without a shell's quotes. */
  command?: (connection: Connection) => string[]
}

const envOf = ({ url, token, env }: Connection) => env ?? { LONGSHORE_URL: url, LONGSHORE_TOKEN: token }
const commandOf = ({ folder, flags = [] }: Connection) => [
  ...(folder === null ? ['npx', '-y', 'longshore'] : ['node', `${folder}/dist/longshore.js`]),
  'mcp',
  ...flags,
]
function program(to: Connection) {
  const [command, ...args] = commandOf(to)
  return { command, args, env: envOf(to) }
}
const address = ({ url }: Connection) => `${url}/mcp`
const headers = ({ token }: Connection) => ({ Authorization: `Bearer ${token}` })
const json = (value: unknown) => JSON.stringify(value, null, 2)
/** Quoted for a POSIX shell where it must be. */
const shell = (text: string) =>
  /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
/** Strings and lists of strings are written alike in TOML and JSON. */
const toml = (value: string | readonly string[]) => JSON.stringify(value)
const settings = (to: Connection) => Object.entries(envOf(to)).map(([name, value]) => `${name}=${value}`)
const lines = (words: readonly string[]) => words.map(shell).join(' ')

/** A host with a file of JSON: the text to paste is the entry in its object of servers. */
function fileHost(
  name: string,
  place: string,
  file: NonNullable<McpHost['file']>,
  http?: (connection: Connection) => object,
): McpHost {
  const text = (entry: (connection: Connection) => object) => (to: Connection) =>
    json({ [file.key]: { longshore: entry(to) } })
  return { name, place, file, stdio: text(file.entry), ...(http ? { http: text(http) } : {}) }
}

function claudeCommand(to: Connection): string[] {
  const env = settings(to).flatMap((setting) => ['--env', setting])
  return [
    'claude',
    'mcp',
    'add',
    '--scope',
    'user',
    '--transport',
    'stdio',
    'longshore',
    ...env,
    '--',
    ...commandOf(to),
  ]
}

function codexCommand(to: Connection): string[] {
  const env = settings(to).flatMap((setting) => ['--env', setting])
  return ['codex', 'mcp', 'add', 'longshore', ...env, '--', ...commandOf(to)]
}

export const mcpHosts: Readonly<Record<string, McpHost>> = {
  'claude-code': {
    name: 'Claude Code',
    place: 'Run in a terminal',
    stdio: (to) => lines(claudeCommand(to)),
    http: (to) =>
      [
        `claude mcp add --transport http longshore ${shell(address(to))}`,
        `--header ${shell(`Authorization: Bearer ${to.token}`)}`,
      ].join(' \\\n  '),
    command: claudeCommand,
  },
  'claude-desktop': fileHost(
    'Claude Desktop',
    'claude_desktop_config.json (Settings, Developer, Edit Config)',
    {
      path: ({ config }) => `${config}/Claude/claude_desktop_config.json`,
      key: 'mcpServers',
      entry: program,
    },
  ),
  cursor: fileHost(
    'Cursor',
    '~/.cursor/mcp.json, or .cursor/mcp.json of a project',
    { path: ({ home }) => `${home}/.cursor/mcp.json`, key: 'mcpServers', entry: program },
    (to) => ({ url: address(to), headers: headers(to) }),
  ),
  vscode: fileHost(
    'VS Code',
    '.vscode/mcp.json of a project, or mcp.json of the user',
    {
      path: ({ config }) => `${config}/Code/User/mcp.json`,
      key: 'servers',
      entry: (to) => ({ type: 'stdio', ...program(to) }),
    },
    (to) => ({ type: 'http', url: address(to), headers: headers(to) }),
  ),
  codex: {
    name: 'Codex',
    place: '~/.codex/config.toml',
    stdio: (to) =>
      [
        '[mcp_servers.longshore]',
        `command = ${toml(program(to).command!)}`,
        `args = ${toml(program(to).args)}`,
        `env = { ${Object.entries(envOf(to))
          .map(([name, value]) => `${name} = ${toml(value)}`)
          .join(', ')} }`,
      ].join('\n'),
    http: (to) =>
      [
        '[mcp_servers.longshore]',
        `url = ${toml(address(to))}`,
        `http_headers = { Authorization = ${toml(`Bearer ${to.token}`)} }`,
      ].join('\n'),
    command: codexCommand,
  },
  windsurf: fileHost(
    'Windsurf',
    '~/.codeium/windsurf/mcp_config.json',
    { path: ({ home }) => `${home}/.codeium/windsurf/mcp_config.json`, key: 'mcpServers', entry: program },
    (to) => ({ serverUrl: address(to), headers: headers(to) }),
  ),
  zed: fileHost(
    'Zed',
    '~/.config/zed/settings.json',
    { path: ({ home }) => `${home}/.config/zed/settings.json`, key: 'context_servers', entry: program },
    (to) => ({ url: address(to), headers: headers(to) }),
  ),
}
