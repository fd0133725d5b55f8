/** Error codes of RFC 6749, 7591, 8707 and 9126. */
type OAuthErrorCode =
  | 'access_denied'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_request'
  | 'invalid_scope'
  | 'invalid_target'
  | 'request_not_supported'
  | 'temporarily_unavailable'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'

/** An error in the form that OAuth clients read. `description` is public: what is wrong, then what to do. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode
  /** Seconds after which a retry may help; null: a retry does not help. */
  readonly retryAfterSeconds: number | null

  constructor(
    code: OAuthErrorCode,
    readonly description: string,
    { retryAfterSeconds = null }: { retryAfterSeconds?: number | null } = {},
  ) {
    super(description)
    this.name = 'OAuthError'
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}
