/** Names of operations: in the activity, on buttons, and in place of ids in messages. */
const names: Record<string, string> = {
  'accept-invitation': 'Accept invitation',
  'add-member': 'Add member',
  'apply-app-env-changes': 'Apply pending changes',
  'authorize-client': 'Connect agent',
  'cancel-job-run': 'Cancel run',
  'connect-chat-user': 'Connect chat user',
  'create-account': 'Create account',
  'create-alert': 'Create alert',
  'create-app': 'Create app',
  'create-app-env': 'Create environment',
  'create-app-env-backup': 'Create backup',
  'create-chat-connection': 'Connect chat',
  'create-contact-point': 'Create contact point',
  'create-user-token': 'Create token',
  'decline-invitation': 'Decline invitation',
  'delete-alert': 'Delete alert',
  'delete-app': 'Delete app',
  'delete-app-env': 'Delete environment',
  'delete-app-env-backup': 'Delete backup',
  'cancel-deployment': 'Cancel deployment',
  'delete-chat-connection': 'Disconnect chat',
  'delete-contact-point': 'Delete contact point',
  'deploy-app-env-image': 'Deploy image',
  'discard-app-env-changes': 'Discard pending changes',
  'notify-code-upload': 'Deploy source',
  'probe-function': 'Measure function',
  'redeploy-app-env': 'Deploy version again',
  'refresh-alert': 'Evaluate alert',
  'remove-chat-user': 'Remove chat user',
  'remove-member': 'Remove member',
  'request-deploy-storage-key': 'Ask where to upload source',
  'request-secret': 'Ask a person for a secret',
  'restart-app-env': 'Restart environment',
  'restore-app-env-backup': 'Restore backup',
  'revoke-user-token': 'Revoke token',
  'rotate-app-env-token': 'Replace token of environment',
  'rotate-database-password': 'Change database password',
  'rotate-user-token': 'Replace token',
  'scale-app-env-containers': 'Scale containers',
  'start-app-env': 'Start environment',
  'start-job-run': 'Start run',
  'stop-app-env': 'Stop environment',
  'test-contact-point': 'Test contact point',
  'toggle-alert': 'Pause or resume alert',
  'undo-change': 'Undo',
  'update-account': 'Change account',
  'update-alert': 'Change alert',
  'update-chat-connection': 'Change chat',
  'update-app-env': 'Change environment',
  'update-app-env-autoscaling': 'Change autoscaling',
  'update-app-env-variables': 'Change variables',
  'update-app': 'Change app',
  'update-contact-point': 'Change contact point',
  'update-function-config': 'Change function settings',
  'update-job-config': 'Change job settings',
  'update-member-env-access': 'Change access of member',
}

/** `update-app-env-variables` as "Change variables". */
export function operationWords(id: string): string {
  if (Object.hasOwn(names, id)) return names[id]!
  const words = id.replaceAll('-', ' ').replace('app env', 'environment')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Null for a word that is no operation of this table. */
export const knownOperation = (id: string): string | null => (Object.hasOwn(names, id) ? names[id]! : null)
