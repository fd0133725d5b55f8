/** The setting for every interface, by what a program prints at its start; the first that fits counts. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/\bFlask\b|werkzeug/i, 'in Flask with app.run(host="0.0.0.0", port=int(os.environ["PORT"]))'],
  [/\buvicorn\b/i, 'with uvicorn --host 0.0.0.0 --port $PORT'],
  [/\bgunicorn\b/i, 'with gunicorn --bind 0.0.0.0:$PORT'],
  [/\bDjango\b|Starting development server at/i, 'with manage.py runserver 0.0.0.0:$PORT'],
  [/\bNext\.js\b/i, 'with next start -H 0.0.0.0 -p $PORT'],
  [/\bVITE\b|use --host to expose/, 'with vite preview --host 0.0.0.0 --port $PORT'],
  [/\bPuma\b|\bRails\b/, 'with rails server -b 0.0.0.0 -p $PORT'],
  [/webpack-dev-server/i, 'with webpack serve --host 0.0.0.0 --port $PORT'],
  [/Traceback|File ".*\.py"/, 'in Python with the host "0.0.0.0" and the port os.environ["PORT"]'],
  [/\[GIN-debug\]|\bgoroutine \d/, 'in Go with http.ListenAndServe(":"+os.Getenv("PORT"), handler)'],
]

const inNode = 'in Node with server.listen(process.env.PORT, "0.0.0.0")'

/** How the program that wrote these lines listens on every interface and on the port in PORT. */
export function listenHint(lines: readonly { message: string }[]): string {
  for (const [pattern, hint] of hints) if (lines.some(({ message }) => pattern.test(message))) return hint
  return inNode
}
