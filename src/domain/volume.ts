import type { App } from '../contract/apps.ts'
import { AppError } from '../errors.ts'
import type { Environment, Settings } from './environment.ts'
import { isRegularApp } from './presets.ts'

/** Where the volume lies when nobody says. */
const defaultMountPath = '/data'

/** Folders that belong to the system of every container: a volume over them would keep it from starting. */
const systemFolders = ['proc', 'sys', 'dev', 'bin', 'sbin', 'lib', 'lib64', 'usr', 'etc']

export interface VolumeWish {
  useVolume?: boolean | undefined
  mountPath?: string | undefined
}

/** F7 for functions; jobs and databases have no volume of this kind either. */
export function checkVolume(app: Pick<App, 'dockerPreset' | 'isFunction'>, volume: VolumeWish): void {
  if (app.isFunction && volume.useVolume) {
    throw new AppError('invalid', 'Persistent volumes are unsupported for functions', {
      details: 'Keep data in a database or a regular app with useVolume.',
      rule: 'F7',
    })
  }
  if (volume.useVolume && !isRegularApp(app.dockerPreset)) {
    throw new AppError('invalid', 'useVolume is for regular apps only', {
      details: 'A database keeps its data by itself (withPersistence); a job keeps none between runs.',
    })
  }
  if (volume.mountPath !== undefined && volume.useVolume === false) {
    throw new AppError('invalid', 'mountPath needs useVolume', {
      details: 'Send useVolume true, or leave mountPath out.',
    })
  }
  const top = volume.mountPath?.split('/')[1]
  if (top !== undefined && systemFolders.includes(top)) {
    throw new AppError('invalid', `mountPath cannot be below /${top}`, {
      details: 'That folder belongs to the system of the container. Choose a path such as /data.',
    })
  }
}

/** The volume settings after a change: turning it off forgets the path, turning it on gives one. */
export function withVolume<T extends Settings>(settings: T, wish: VolumeWish): T {
  const useVolume = wish.useVolume ?? settings.useVolume
  if (wish.mountPath !== undefined && !useVolume) {
    throw new AppError('invalid', 'mountPath needs useVolume', {
      details: 'Send useVolume true together with mountPath.',
    })
  }
  const mountPath = useVolume ? (wish.mountPath ?? settings.mountPath ?? defaultMountPath) : null
  return { ...settings, useVolume, mountPath }
}

/** A volume is written by one container at a time. */
export function checkVolumeContainers(environment: Pick<Environment, 'saved' | 'autoscaling'>): void {
  const { saved, autoscaling } = environment
  if (!saved.useVolume) return
  if (saved.containers <= 1 && (!autoscaling.enabled || autoscaling.maxContainers <= 1)) return
  throw new AppError('invalid', 'An environment with a volume has one container', {
    details: 'Its volume can be mounted once. Scale to 1 and turn autoscaling off, or do without useVolume.',
  })
}

/** What is on a volume or in a database stays where it is, so such an environment does not move. */
export function checkMovable(app: Pick<App, 'isDatabase'>, environment: Environment): void {
  const holds = app.isDatabase
    ? 'a managed database'
    : environment.saved.useVolume || environment.applied.useVolume
      ? 'an environment with a volume'
      : null
  if (holds === null) return
  throw new AppError('invalid', `The region of ${holds} cannot change`, {
    details: 'Its data would stay behind. Create a new environment in the other region and copy the data.',
  })
}
