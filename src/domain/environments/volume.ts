import type { App } from '../../contract/apps.ts'
import { AppError } from '../../errors.ts'
import { isRegularApp } from '../apps/presets.ts'
import type { Environment, Settings } from './environment.ts'

/** Default path of the volume. */
const defaultMountPath = '/data'

/** System folders of every container: a volume over one of them would keep the container from starting. */
const systemFolders = ['proc', 'sys', 'dev', 'bin', 'sbin', 'lib', 'lib64', 'usr', 'etc']

interface VolumeRequest {
  useVolume?: boolean | undefined
  mountPath?: string | undefined
}

/** F7 for functions; jobs and databases cannot have this kind of volume either. */
export function checkVolume(app: Pick<App, 'dockerPreset' | 'isFunction'>, volume: VolumeRequest): void {
  if (app.isFunction && volume.useVolume) {
    throw new AppError('invalid', 'Persistent volumes are unsupported for functions', {
      details: 'Keep data in a database or a regular app with useVolume.',
      rule: 'F7',
    })
  }
  if (volume.useVolume && !isRegularApp(app.dockerPreset)) {
    throw new AppError('invalid', 'useVolume is for regular apps only', {
      details: 'A database persists its data with withPersistence; a job keeps no data between runs.',
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
      details: 'That is a system folder of the container. Choose a path such as /data.',
    })
  }
}

/** The volume settings after a change: turning it off clears the path, turning it on sets one. */
export function withVolume<T extends Settings>(settings: T, requested: VolumeRequest): T {
  const useVolume = requested.useVolume ?? settings.useVolume
  if (requested.mountPath !== undefined && !useVolume) {
    throw new AppError('invalid', 'mountPath needs useVolume', {
      details: 'Send useVolume true together with mountPath.',
    })
  }
  const mountPath = useVolume ? (requested.mountPath ?? settings.mountPath ?? defaultMountPath) : null
  return { ...settings, useVolume, mountPath }
}

/** Only one container at a time may write to a volume. */
export function checkVolumeContainers(environment: Pick<Environment, 'saved' | 'autoscaling'>): void {
  const { saved, autoscaling } = environment
  if (!saved.useVolume) return
  if (saved.containers <= 1 && (!autoscaling.enabled || autoscaling.maxContainers <= 1)) return
  throw new AppError('invalid', 'An environment with a volume has one container', {
    details:
      'Its volume can be mounted once. Scale to 1 and turn autoscaling off, or set useVolume to false.',
  })
}
