import { type DockerPreset, databasePresetNames } from '../../contract/fields.ts'

const databases: readonly DockerPreset[] = databasePresetNames
const generated: readonly DockerPreset[] = ['NEXT_JS', 'EXPRESS', 'NODE_JS', 'STATIC']

export function isFunction(preset: DockerPreset): boolean {
  return preset === 'FUNCTION'
}

export function isJob(preset: DockerPreset): boolean {
  return preset === 'JOB'
}

export function isDatabase(preset: DockerPreset): boolean {
  return databases.includes(preset)
}

/** Presets with a generated Dockerfile (docs/interface.md#apps); functions cannot use them (F6). */
export function generatesDockerfile(preset: DockerPreset): boolean {
  return generated.includes(preset)
}

/** Apps that serve HTTP and scale by container count: not functions, jobs or databases. */
export function isRegularApp(preset: DockerPreset): boolean {
  return !isFunction(preset) && !isJob(preset) && !isDatabase(preset)
}
