import { isLoopback } from '../../loopback.ts'

/** The alert's page, linked in notifications; null if the link would work on this machine only. */
export function alertPage(publicUrl: string, envName: string, alertId: string): string | null {
  return page(publicUrl, `environments/${envName}/alerts/${alertId}`)
}

/** The page of a remediation, linked in notifications. */
export function remediationPage(publicUrl: string, envName: string, remediationId: string): string | null {
  return page(publicUrl, `environments/${envName}/remediations/${remediationId}`)
}

/** The page of the contact points, for a test notification. */
export function contactPointsPage(publicUrl: string): string | null {
  return page(publicUrl, 'contact-points')
}

/** `publicUrl` has no trailing slash. */
function page(publicUrl: string, path: string): string | null {
  const { hostname } = new URL(publicUrl)
  return isLoopback(hostname) || hostname.endsWith('.localhost') ? null : `${publicUrl}/console/${path}`
}
