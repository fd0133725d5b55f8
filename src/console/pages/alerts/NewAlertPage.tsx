import { Link, useNavigate } from '@tanstack/react-router'
import { createAlert } from '../../../contract/alerts.ts'
import { useWrite } from '../../api/queries.ts'
import { useForm } from '../../components/form.ts'
import { NotFound } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useEnvironment } from '../environments/environment.ts'
import { AlertForm } from './AlertForm.tsx'
import { newRule } from './rule.ts'
import { metricsOf } from './words.ts'

export function NewAlertPage() {
  const environment = useEnvironment()
  const { appEnvId, cliEnvName: envName } = environment
  const write = useWrite(createAlert)
  const navigate = useNavigate()
  const [metric] = metricsOf(environment)
  const form = useForm({ id: `new alert ${appEnvId}`, stored: newRule(metric ?? 'cpu_percent') })
  if (!metric) return <NotFound />
  return (
    <AlertForm
      title="New alert"
      form={form}
      subject={{ appEnvId }}
      action="Create alert"
      write={write}
      onSave={(rule) =>
        write.mutate(
          { appEnvId, ...rule },
          {
            onSuccess({ message, alert: { alertId } }) {
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
        to="/environments/$envName/alerts"
        params={{ envName }}
        search={({ account }) => ({ account })}
        className="button"
      >
        Cancel
      </Link>
    </AlertForm>
  )
}
