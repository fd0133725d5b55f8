/** The alert's page, linked in notifications. `publicUrl` has no trailing slash. */
export function alertPage(publicUrl: string, envName: string, alertId: string): string {
  return `${publicUrl}/console/environments/${envName}/alerts/${alertId}`
}

/** The page of the contact points, for a test notification. */
export function contactPointsPage(publicUrl: string): string {
  return `${publicUrl}/console/contact-points`
}
