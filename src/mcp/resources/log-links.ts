/** A link to a resource, for hosts that read more than a result shows. */
export interface ResourceLink {
  uri: string
  name: string
  mimeType: string
}

const logTypes = ['RUNTIME', 'BUILD', 'JOB', 'REQUEST']

/** The link to a log of an environment, by envName or appEnvId. */
export function logLink(environment: string, type: string): ResourceLink {
  const uri = `longshore://environments/${encodeURIComponent(environment)}/logs/${type}`
  return { uri, name: `${type} log of ${environment}`, mimeType: 'text/plain' }
}

/** The environment and type of a log's address; null for any other address. */
export function logOf(uri: string): { environment: string; type: string } | null {
  const [, part = '', type = ''] = /^longshore:\/\/environments\/([^/]+)\/logs\/([A-Z]+)$/.exec(uri) ?? []
  if (!logTypes.includes(type)) return null
  try {
    return { environment: decodeURIComponent(part), type }
  } catch {
    return null
  }
}
