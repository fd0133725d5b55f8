import { FirstRun } from './FirstRun.tsx'

/** The first run, also for later visits: a sample, an agent, and the agent's calls. */
export function StartPage() {
  return (
    <>
      <div className="page-head">
        <h1>Get started</h1>
      </div>
      <FirstRun />
    </>
  )
}
