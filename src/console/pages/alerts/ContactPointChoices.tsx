import { Link } from '@tanstack/react-router'
import { listContactPoints } from '../../../contract/contact-points.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Loading, Problem } from '../../components/states.tsx'
import { contactPointTypeNames } from '../contact-points/type-words.ts'
import { useEnvironment } from '../environments/environment.ts'

/** Where an alert sends its notifications. */
export function ContactPointChoices({ chosen, set }: { chosen: string[]; set: (ids: string[]) => void }) {
  const { accountId } = useEnvironment()
  const read = useRead(listContactPoints, { accountId }, { everyMs: everyMs.chart })
  const points = read.data?.contactPoints ?? []
  return (
    <fieldset className="choices">
      <legend>Contact points</legend>
      {read.isPending && <Loading rows={1} />}
      <Problem error={read.data ? null : read.error} />
      {points.map(({ contactPointId, name, type }) => (
        <label key={contactPointId}>
          <input
            type="checkbox"
            checked={chosen.includes(contactPointId)}
            onChange={(event) =>
              set(
                event.target.checked
                  ? [...chosen, contactPointId]
                  : chosen.filter((one) => one !== contactPointId),
              )
            }
          />
          {name} <span className="muted small">{contactPointTypeNames[type]}</span>
        </label>
      ))}
      {read.data && points.length === 0 && (
        <span className="muted small">
          None yet. Without one, the alert changes its state but sends no notification.{' '}
        </span>
      )}
      <Link to="/contact-points" search={{ account: accountId }} className="small">
        Manage contact points
      </Link>
    </fieldset>
  )
}
