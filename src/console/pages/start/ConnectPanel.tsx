import { useState } from 'react'
import { mcpHosts, type Transport } from '../../../client/mcp-hosts.ts'
import { createUserToken } from '../../../contract/users.ts'
import { useWrite } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { CopyBlock } from '../../components/CopyBlock.tsx'
import { Problem } from '../../components/states.tsx'

/** The configuration of each common MCP host, ready to copy, with a new token. */
export function ConnectPanel() {
  const [hostId, setHostId] = useState('claude-code')
  const [wanted, setWanted] = useState<Transport>('http')
  const [folder, setFolder] = useState('/path/to/longshore')
  const [token, setToken] = useState<string | null>(null)
  const host = mcpHosts[hostId]!
  const transport = host.http ? wanted : 'stdio'
  const make = transport === 'http' && host.http ? host.http : host.stdio
  const text = make({ url: location.origin, token: token ?? 'YOUR_TOKEN', folder })
  return (
    <section className="panel" aria-labelledby="connect">
      <header>
        <h2 id="connect">2. Connect an agent</h2>
      </header>
      <div className="body stack">
        <div className="row">
          <select aria-label="MCP host" value={hostId} onChange={(event) => setHostId(event.target.value)}>
            {Object.entries(mcpHosts).map(([id, { name }]) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
          <select
            aria-label="Transport"
            value={transport}
            disabled={!host.http}
            onChange={(event) => setWanted(event.target.value as Transport)}
          >
            <option value="http">HTTP: to this address</option>
            <option value="stdio">stdio: a program that the host starts</option>
          </select>
          {transport === 'stdio' && (
            <label className="row">
              Folder of Longshore
              <input value={folder} className="mono" onChange={(event) => setFolder(event.target.value)} />
            </label>
          )}
        </div>
        <TokenMaker host={host.name} made={token !== null} onMade={setToken} />
        <p className="muted small">{host.place}:</p>
        <CopyBlock label={`Configuration for ${host.name}`} text={text} />
      </div>
    </section>
  )
}

interface TokenProps {
  host: string
  made: boolean
  onMade: (token: string) => void
}

function TokenMaker({ host, made, onMade }: TokenProps) {
  const [readOnly, setReadOnly] = useState(false)
  const write = useWrite(createUserToken)
  if (made) {
    return (
      <p className="note tone-ok">
        The text below holds a new token, shown only until you leave this page. Revoke it under Tokens.
      </p>
    )
  }
  return (
    <>
      <div className="row">
        <button
          type="button"
          className="button"
          disabled={write.isPending}
          onClick={() =>
            write.mutate({ name: `${host} agent`, readOnly }, { onSuccess: ({ token }) => onMade(token) })
          }
        >
          Create a token for it
        </button>
        <Checkbox checked={readOnly} set={setReadOnly}>
          Read-only: the agent can change nothing
        </Checkbox>
      </div>
      <Problem error={write.error} />
    </>
  )
}
