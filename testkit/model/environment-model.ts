/** A variable. One that is removed and set again is a different variable. */
interface ModelVariable {
  id: number
  value: string
}

interface ModelSettings {
  zClouds: number
  containers: number
  variables: Map<string, ModelVariable>
  functionConfig: { containerConcurrency: number; maxScale: number }
}

/** A model of one environment (3.1, 3.3): saved settings, applied settings, desired state. */
export interface ModelEnvironment {
  appEnvId: string
  isFunction: boolean
  name: string
  saved: ModelSettings
  applied: ModelSettings
  deployed: boolean
  stopped: boolean
  revision: number
}

function copied(settings: ModelSettings): ModelSettings {
  return {
    ...settings,
    variables: new Map(settings.variables),
    functionConfig: { ...settings.functionConfig },
  }
}

/** The whole reference: small enough to be seen to be right. */
export class PlatformModel {
  readonly environments = new Map<string, ModelEnvironment>()
  #ids = 0

  created(appEnvId: string, isFunction: boolean, name: string): void {
    const settings: ModelSettings = {
      zClouds: 1,
      containers: 1,
      variables: new Map(),
      functionConfig: { containerConcurrency: 10, maxScale: 2 },
    }
    this.environments.set(appEnvId, {
      appEnvId,
      isFunction,
      name,
      saved: settings,
      applied: copied(settings),
      deployed: false,
      stopped: false,
      revision: 1,
    })
  }

  deleted(environment: ModelEnvironment): void {
    this.environments.delete(environment.appEnvId)
  }

  setVariable({ saved }: ModelEnvironment, name: string, value: string): void {
    const known = saved.variables.get(name)
    saved.variables.set(name, { id: known?.id ?? ++this.#ids, value })
  }

  removeVariable({ saved }: ModelEnvironment, name: string): void {
    saved.variables.delete(name)
  }

  /** Manual scaling is in force at once. */
  scaled(environment: ModelEnvironment, containers: number): void {
    environment.saved.containers = containers
    environment.applied.containers = containers
  }

  configured(
    environment: ModelEnvironment,
    change: Partial<ModelSettings['functionConfig']>,
    now: boolean,
  ): void {
    environment.saved.functionConfig = { ...environment.saved.functionConfig, ...change }
    if (now) environment.applied.functionConfig = { ...environment.saved.functionConfig }
  }

  /** A deployment puts the saved settings in force; so does apply. */
  applied(environment: ModelEnvironment): void {
    environment.applied = copied(environment.saved)
  }

  deployed(environment: ModelEnvironment): void {
    this.applied(environment)
    environment.deployed = true
    environment.stopped = false
  }
}

/** As a read shows it. */
export function shown({ saved, name, isFunction }: ModelEnvironment): Record<string, unknown> {
  return {
    name,
    zClouds: saved.zClouds,
    ...(isFunction ? saved.functionConfig : { containers: saved.containers }),
    variables: [...saved.variables].map(([variable, { value }]) => `${variable}=${value}`),
  }
}

export function isPending({ saved, applied }: ModelEnvironment): boolean {
  const text = (settings: ModelSettings) =>
    JSON.stringify({ ...settings, variables: [...settings.variables] })
  return text(saved) !== text(applied)
}
