import { AgentWatch } from './AgentWatch.tsx'
import { ConnectPanel } from './ConnectPanel.tsx'
import { SamplePanel } from './SamplePanel.tsx'

/** Guides a new user to a serving function and a connected agent. */
export function FirstRun({ onCreated }: { onCreated?: () => void }) {
  return (
    <div className="first-run">
      <SamplePanel {...(onCreated ? { onCreated } : {})} />
      <div className="stack">
        <ConnectPanel />
        <AgentWatch />
      </div>
    </div>
  )
}
