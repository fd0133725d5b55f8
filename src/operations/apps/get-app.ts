import { getApp } from '../../contract/apps.ts'
import { handler } from '../core/handler.ts'

export default handler(getApp, async (_context, _input, { app }) => ({ answer: app }))
