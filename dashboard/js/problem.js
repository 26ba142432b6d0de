// A problem of the venue (RFC 9457) as a sentence in the reader's language, with the way out.
import { t, has } from "./i18n.js";

/**
 * @typedef {{code: string, status: number, detail?: string, title?: string, requestId?: string,
 *   errors?: {field: string, code: string, detail: string}[], order?: any}} Problem
 */

/** What went wrong on the way, or what the venue refused. */
export class ApiError extends Error {
  /** @param {Problem} problem @param {{retryAfter?: number | null}} [more] */
  constructor(problem, { retryAfter = null } = {}) {
    super(problem.detail ?? problem.code);
    this.problem = problem;
    this.code = problem.code;
    this.status = problem.status;
    this.retryAfter = retryAfter;
  }

  /** Whether the venue may have executed the request all the same. */
  get unknown() {
    return this.code === "OUTCOME_UNKNOWN" || this.code === "NO_ANSWER";
  }
}

/** The sentence of a problem. @param {unknown} error */
export function sentence(error) {
  if (!(error instanceof ApiError)) return t("problem.UNEXPECTED");
  const key = `problem.${error.code}`;
  if (has(key)) return t(key, { seconds: error.retryAfter ?? 1, n: error.retryAfter ?? 1 });
  return t("problem.other", { code: error.code });
}

/** The sentence beside a field, or null. @param {unknown} error @param {string} field */
export function fieldSentence(error, field) {
  if (!(error instanceof ApiError)) return null;
  const found = error.problem.errors?.find((one) => one.field === field || one.field.endsWith(`.${field}`));
  if (!found) return null;
  const special = `field.${field}.${found.code}`;
  if (has(special)) return t(special);
  return has(`field.${found.code}`) ? t(`field.${found.code}`) : found.detail;
}
