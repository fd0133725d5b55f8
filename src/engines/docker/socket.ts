import http from 'node:http'
import { type DockerEndpoint, findDockerEndpoint } from '../../docker-endpoint.ts'

/** Whether an engine answers a ping within `deadlineMs`. Never throws; used to choose an engine. */
export function dockerSocketAnswers(dockerHost?: string, deadlineMs = 300): Promise<boolean> {
  let endpoint: DockerEndpoint
  try {
    endpoint = findDockerEndpoint(dockerHost)
  } catch {
    return Promise.resolve(false)
  }
  const target = endpoint.kind === 'unix' ? { socketPath: endpoint.path } : endpoint
  return new Promise((resolve) => {
    const request = http.get({ ...target, path: '/_ping', agent: false }, (response) => {
      response.resume()
      finish(response.statusCode === 200)
    })
    const timer = setTimeout(() => finish(false), deadlineMs)
    request.on('error', () => finish(false))
    function finish(answer: boolean) {
      clearTimeout(timer)
      resolve(answer)
      request.destroy()
    }
  })
}
