interface Issue {
  path: (string | number)[]
  message: string
}

const invalidParams = -32602
const mostIssues = 3

/**
 * Replaces the error of a request that does not fit its schema. The libraries send the issues of the schema as JSON, some
 * of them as an internal error; a sentence says which field is wrong.
 */
export function withPlainError<Message>(message: Message): Message {
  const { error } = message as { error?: { code: number; message: string } }
  const issues = issuesIn(error?.message)
  if (issues === null) return message
  const fields = issues.slice(0, mostIssues).map(({ path, message: text }) => {
    return `${path.join('.').slice(0, 100)}: ${text.replace('Invalid input: ', '').slice(0, 200)}`
  })
  return {
    ...message,
    error: {
      code: invalidParams,
      message: `The request has wrong parameters. ${fields.join('; ')}. Correct them, then send it again.`,
    },
  }
}

/** Null for the text of any other error. */
function issuesIn(text: unknown): Issue[] | null {
  const json = /^(?:Invalid \S+ request: )?(\[\s*\{.*\])$/s.exec(String(text))?.[1]
  if (json === undefined) return null
  try {
    const issues = JSON.parse(json) as Issue[]
    return issues.every(({ path, message }) => Array.isArray(path) && typeof message === 'string')
      ? issues
      : null
  } catch {
    return null
  }
}
