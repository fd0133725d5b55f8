import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { type AlertDetails, getAlert, updateAlert } from '../../../contract/alerts.ts'
import { everyMs, useRead, useWrite } from '../../api/queries.ts'
import { useForm } from '../../components/form.ts'
import { Failed, Loading, NotFound } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useEnvironment } from '../environments/environment.ts'
import { AlertForm } from './AlertForm.tsx'
import { ruleOf } from './rule.ts'

export function EditAlertPage() {
  const { alertId } = useParams({ from: '/frame/environments/$envName/alerts/$alertId/edit' })
  const { appEnvId } = useEnvironment()
  const read = useRead(getAlert, { alertId }, { everyMs: everyMs.list })
  if (read.error && !read.data) return <Failed error={read.error} hidesForbidden />
  if (!read.data) return <Loading rows={6} />
  if (read.data.appEnvId !== appEnvId) return <NotFound />
  return <Editor alert={read.data} />
}

/** Keeps the edits while the alert changes elsewhere; saving then shows a conflict. */
function Editor({ alert }: { alert: AlertDetails }) {
  const { alertId, revision } = alert
  const { cliEnvName: envName } = useEnvironment()
  const form = useForm({ id: `alert ${alertId}`, stored: ruleOf(alert), revision })
  const write = useWrite(updateAlert)
  const navigate = useNavigate()
  return (
    <AlertForm
      title={`Edit ${alert.name}`}
      form={form}
      subject={{ alertId }}
      action="Save alert"
      write={write}
      onSave={(rule, expectedRevision) =>
        write.mutate(
          { alertId, ...rule, expectedRevision },
          {
            onSuccess({ message }) {
              toast(message)
              void navigate({
                to: '/environments/$envName/alerts/$alertId',
                params: { envName, alertId },
                search: ({ account }) => ({ account }),
              })
            },
          },
        )
      }
    >
      <Link
        to="/environments/$envName/alerts/$alertId"
        params={{ envName, alertId }}
        search={({ account }) => ({ account })}
        className="button"
      >
        Cancel
      </Link>
    </AlertForm>
  )
}
