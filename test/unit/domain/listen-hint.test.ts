import { expect, it } from 'vitest'
import { listenHint } from '../../../src/domain/diagnosis/listen-hint.ts'

it.each([
  [' * Serving Flask app "app"', 'app.run(host="0.0.0.0"'],
  ['INFO:     Uvicorn running on http://127.0.0.1:8000', '--host 0.0.0.0'],
  ['[INFO] Starting gunicorn 23.0.0', '--bind 0.0.0.0:$PORT'],
  ['Starting development server at http://127.0.0.1:8000/', 'runserver 0.0.0.0:$PORT'],
  ['  VITE v7.1.0  ready in 300 ms', 'vite preview --host 0.0.0.0'],
  ['   ▲ Next.js 16.0.0', 'next start -H 0.0.0.0'],
  ['* Puma version: 7.0.0', 'rails server -b 0.0.0.0'],
  ['listening on 3000', 'server.listen(process.env.PORT, "0.0.0.0")'],
])('the hint for %j names the setting of that program', (message, hint) => {
  expect(listenHint([{ message }])).toContain(hint)
})
