import { getApp } from '../../contract/apps.ts'
import { effectiveHealthCheck, hasHealthCheck } from '../../domain/environments/health-check.ts'
import { handler } from '../core/handler.ts'

/** Settings that environments inherit are shown with every default filled in. */
export default handler(getApp, async (_context, _input, { app }) => ({
  answer: hasHealthCheck(app) ? { ...app, effectiveHealthCheck: effectiveHealthCheck(app, undefined) } : app,
}))
