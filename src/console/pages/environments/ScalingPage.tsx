import { lazy, Suspense } from 'react'
import { scaleAppEnvContainers, updateAppEnvAutoscaling } from '../../../contract/app-env-actions.ts'
import { type Autoscaling, autoscalingDefaults, updateAppEnv } from '../../../contract/app-envs.ts'
import { useWrite } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { Conflict } from '../../components/Conflict.tsx'
import { type NumberSetting, SettingsForm } from '../../components/SettingsForm.tsx'
import { Loading, Problem } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { untilLoaded } from '../../until-loaded.ts'
import { fieldLabel } from '../../words/fields.ts'
import { valueWords } from '../../words/values.ts'
import { useEnvironment } from './environment.ts'
import { FunctionForm } from './FunctionForm.tsx'

// With the chart library, and only for functions.
const FunctionProbe = lazy(() =>
  untilLoaded(() => import('./FunctionProbe.tsx')).then((module) => ({ default: module.FunctionProbe })),
)

/** Size and number of containers, and the scaling settings: autoscaling for apps, function settings for functions (F8). */
export function ScalingPage() {
  const { isFunction, isDatabase } = useEnvironment()
  return (
    <div className="stack">
      <SizeForm />
      {isFunction ? <FunctionForm /> : <ContainersForm />}
      {!isFunction && !isDatabase && <AutoscalingForm />}
      {isFunction && (
        <Suspense fallback={<Loading rows={3} />}>
          <FunctionProbe />
        </Suspense>
      )}
    </div>
  )
}

const sizeWords = (zClouds: number) => valueWords('zClouds', zClouds)

function SizeForm() {
  const { appEnvId, zClouds, revision } = useEnvironment()
  const write = useWrite(updateAppEnv)
  const save = (size: 1 | 2 | 4 | 8) =>
    write.mutate(
      { appEnvId, zClouds: size, expectedRevision: revision },
      { onSuccess: () => toast('Size saved. Apply the pending changes to use it.') },
    )
  const mine = write.variables?.zClouds
  return (
    <section className="panel" aria-labelledby="size">
      <header>
        <h2 id="size">Container size</h2>
        <span className="muted small">Pending until applied</span>
      </header>
      <div className="body stack">
        <label className="row">
          Size
          <select
            value={zClouds}
            disabled={write.isPending}
            onChange={(event) => save(Number(event.target.value) as 1 | 2 | 4 | 8)}
          >
            {[1, 2, 4, 8].map((size) => (
              <option key={size} value={size}>
                {sizeWords(size)}
              </option>
            ))}
          </select>
        </label>
        {write.error?.kind === 'conflict' && mine !== undefined ? (
          <Conflict
            fields={[{ label: fieldLabel('zClouds'), mine: sizeWords(mine), theirs: sizeWords(zClouds) }]}
            pending={write.isPending}
            saveMine={() => save(mine)}
            takeTheirs={() => write.reset()}
          />
        ) : (
          <Problem error={write.error} />
        )}
      </div>
    </section>
  )
}

function ContainersForm() {
  const { appEnvId, containers, revision, autoscaling } = useEnvironment()
  const write = useWrite(scaleAppEnvContainers)
  return (
    <SettingsForm
      title="Containers"
      of={appEnvId}
      action="Scale now"
      revision={revision}
      settings={[{ name: 'containers', hint: 'Run at the same time', value: containers, min: 1 }]}
      write={write}
      onSave={({ containers: count }, expectedRevision) =>
        write.mutate(
          { appEnvId, containers: count ?? containers, expectedRevision },
          { onSuccess: ({ message }) => toast(message) },
        )
      }
    >
      {autoscaling?.enabled && <p className="muted">Autoscaling is on and may change this number.</p>}
    </SettingsForm>
  )
}

function AutoscalingForm() {
  const { appEnvId, autoscaling, revision } = useEnvironment()
  const write = useWrite(updateAppEnvAutoscaling)
  // A separate write: it does not save the inputs above.
  const toggle = useWrite(updateAppEnvAutoscaling)
  const now = autoscaling ?? autoscalingDefaults
  const save = (
    to: typeof write,
    change: Record<string, number | boolean | null>,
    expectedRevision: number,
  ) => to.mutate({ appEnvId, ...change, expectedRevision }, { onSuccess: ({ message }) => toast(message) })
  return (
    <SettingsForm
      title="Autoscaling"
      of={appEnvId}
      action="Save"
      revision={revision}
      settings={autoscalingSettings(now)}
      group="autoscaling"
      write={write}
      onSave={(change, expectedRevision) => save(write, change, expectedRevision)}
    >
      <Checkbox
        checked={now.enabled}
        disabled={toggle.isPending}
        set={(checked) => save(toggle, { enabled: checked }, revision)}
      >
        Scale by CPU and memory, immediately and without a deployment
      </Checkbox>
      <Problem error={toggle.error} />
    </SettingsForm>
  )
}

function autoscalingSettings(now: Autoscaling): NumberSetting[] {
  return [
    {
      name: 'minContainers',
      hint: 'Containers',
      value: now.minContainers,
      min: 1,
    },
    { name: 'maxContainers', hint: 'Containers', value: now.maxContainers, min: 1 },
    {
      name: 'targetCpuPercent',
      hint: 'Percent of the limit',
      value: now.targetCpuPercent,
      min: 1,
      max: 100,
    },
    {
      name: 'targetMemoryPercent',
      hint: 'Percent of the limit; empty for none',
      value: now.targetMemoryPercent,
      min: 1,
      max: 100,
    },
    {
      name: 'scaleUpWindowSeconds',
      hint: 'Seconds above the target',
      value: now.scaleUpWindowSeconds,
      min: 0,
    },
    {
      name: 'scaleDownWindowSeconds',
      hint: 'Seconds below the target',
      value: now.scaleDownWindowSeconds,
      min: 0,
    },
  ]
}
