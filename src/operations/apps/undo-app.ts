import type { AppRecord } from '../../domain/apps/app-settings.ts'
import type { UndoHandler } from '../audit/undo-handler.ts'
import { saveApp } from './change-app.ts'

export const undoApp: UndoHandler<AppRecord> = {
  fields: [
    'name',
    'port',
    'dockerPreset',
    'useImage',
    'image',
    'contextDir',
    'dockerfilePath',
    'customDockerfileContent',
  ],
  save: (context, target, before, draft) => saveApp(context, target, before, draft),
}
