import { listMembers } from '../../../contract/members.ts'
import { useRead } from '../../api/queries.ts'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { useAccount } from '../../shell/account.ts'
import { AccessMatrix } from './AccessMatrix.tsx'
import { AccessSwitch } from './AccessSwitch.tsx'
import { ExplainAccess } from './ExplainAccess.tsx'
import { People } from './People.tsx'

/** Members of the account and the environments they can access. Needs Manage Members (A4, M8). */
export function MembersPage() {
  const { accountId, name } = useAccount()
  const read = useRead(listMembers, { accountId, withAppEnvs: true }, { everyMs: 5_000 })
  if (read.error && !read.data) return <Failed error={read.error} retry={() => read.refetch()} />
  const members = read.data?.members ?? []
  const environments = read.data?.appEnvs ?? []
  return (
    <>
      <div className="page-head">
        <PageTitle>Members and access</PageTitle>
        <span className="muted">{name}</span>
      </div>
      {read.isPending && <Loading rows={6} />}
      {read.data && (
        <div className="stack" key={accountId}>
          <People members={members} environments={environments} />
          <AccessSwitch members={members} environments={environments} />
          <AccessMatrix members={members} environments={environments} />
          <ExplainAccess environments={environments} />
        </div>
      )}
    </>
  )
}
