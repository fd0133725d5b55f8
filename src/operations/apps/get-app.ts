import { getApp } from '../../contract/apps.ts'
import { effectiveHealthCheck, hasHealthCheck } from '../../domain/environments/health-check.ts'
import { handler } from '../core/handler.ts'
import { shownApp } from './change-app.ts'

/** Settings that environments inherit are shown with every default filled in. */
export default handler(getApp, async (_context, _input, { app }) => ({
  answer: {
    ...shownApp(app),
    ...(hasHealthCheck(app) && { effectiveHealthCheck: effectiveHealthCheck(app, undefined) }),
  },
}))
