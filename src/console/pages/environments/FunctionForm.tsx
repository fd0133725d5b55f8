import { useState } from 'react'
import { updateFunctionConfig } from '../../../contract/app-env-actions.ts'
import type { FunctionConfig } from '../../../contract/function-config.ts'
import { useWrite } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { type NumberSetting, SettingsForm } from '../../components/SettingsForm.tsx'
import { toast } from '../../components/toasts.tsx'
import { useEnvironment } from './environment.ts'

/** The settings of 2.4. */
export function FunctionForm() {
  const { appEnvId, functionConfig, revision } = useEnvironment()
  const write = useWrite(updateFunctionConfig)
  const [applyImmediately, setApplyImmediately] = useState(true)
  if (!functionConfig) return null
  const settings = functionSettings(functionConfig)
  return (
    <SettingsForm
      title="Function settings"
      of={appEnvId}
      action={applyImmediately ? 'Save and apply' : 'Save as pending'}
      revision={revision}
      settings={settings}
      group="functionConfig"
      write={write}
      onSave={(changed, expectedRevision) =>
        write.mutate(
          { appEnvId, ...changed, applyImmediately, expectedRevision },
          {
            onSuccess: ({ appliedImmediately }) =>
              toast(
                appliedImmediately ? 'Function settings applied.' : 'Function settings saved as pending.',
              ),
          },
        )
      }
    >
      <Checkbox checked={applyImmediately} set={setApplyImmediately}>
        Apply at once
      </Checkbox>
    </SettingsForm>
  )
}

function functionSettings(config: FunctionConfig): NumberSetting[] {
  return [
    {
      name: 'minScale',
      hint: '0 allows scale to zero',
      value: config.minScale,
      min: 0,
    },
    {
      name: 'maxScale',
      hint: 'Within the limit of the account',
      value: config.maxScale,
      min: 1,
    },
    {
      name: 'containerConcurrency',
      hint: 'At the same time; 0 is no limit',
      value: config.containerConcurrency,
      min: 0,
    },
    {
      name: 'idleTimeoutSeconds',
      hint: 'Seconds without a request before zero',
      value: config.idleTimeoutSeconds,
      min: 300,
    },
    {
      name: 'timeoutSeconds',
      hint: 'Seconds a request may take',
      value: config.timeoutSeconds,
      min: 1,
    },
    {
      name: 'responseStartTimeoutSeconds',
      hint: 'Seconds until the answer begins',
      value: config.responseStartTimeoutSeconds,
      min: 1,
    },
  ]
}
