import { PageTitle } from '../../components/PageTitle.tsx'
import { FirstRun } from './FirstRun.tsx'

/** The first run, also for later visits: a sample, an agent, and the agent's calls. */
export function StartPage() {
  return (
    <>
      <div className="page-head">
        <PageTitle>Get started</PageTitle>
      </div>
      <FirstRun />
    </>
  )
}
