// A function: an ordinary HTTP server on $PORT. `/?ms=500` holds the request for half a second.
// It counts how many requests it has at once, so that you can watch `containerConcurrency` at work.
const http = require('node:http')
const { randomUUID } = require('node:crypto')

const instance = randomUUID().slice(0, 8)
let inFlight = 0
let peak = 0
let answered = 0

const server = http.createServer((request, response) => {
  inFlight += 1
  peak = Math.max(peak, inFlight)
  const query = new URL(request.url, 'http://localhost').searchParams
  const holdMs = Math.min(Math.max(Number(query.get('ms')) || 0, 0), 30_000)
  const timer = setTimeout(() => {
    answered += 1
    const facts = { message: 'Hello from Longshore', instance, pid: process.pid, inFlight, peak, answered }
    response.setHeader('content-type', 'application/json')
    response.end(`${JSON.stringify(facts)}\n`)
  }, holdMs)
  response.on('close', () => {
    clearTimeout(timer)
    inFlight -= 1
  })
})

server.listen(Number(process.env.PORT) || 8080, () => console.log(`instance ${instance} listens`))

// Shutdown: finish requests in progress and accept no new ones.
process.on('SIGTERM', () => {
  console.log(`instance ${instance} stops after ${answered} requests, at most ${peak} at once`)
  server.close(() => process.exit(0))
  server.closeIdleConnections()
})
