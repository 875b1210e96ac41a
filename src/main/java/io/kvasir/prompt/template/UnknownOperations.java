package io.kvasir.prompt.template;

import org.jspecify.annotations.Nullable;

/**
 * The filters and tests of a template that do not exist: an error of the template, but in a branch only when it is
 * reached. Whether a value is a branch of an inline if is known only after it has been read, so the error is reported
 * at the end of the template.
 */
final class UnknownOperations {
  private int branches;
  private TemplateException.@Nullable Syntax first;

  void note(TokenStream in, String kind, String name) {
    if (branches == 0 && first == null) {
      first = in.error("there is no " + kind + " named '" + name + "'");
    }
  }

  /** The first outside of every branch, as far as is known. */
  TemplateException.@Nullable Syntax first() {
    return first;
  }

  /** Forgets what was noted since {@link #first} had this result: it was in a branch. */
  void restore(TemplateException.@Nullable Syntax before) {
    first = before;
  }

  void check() {
    if (first != null) {
      throw first;
    }
  }

  void enterBranch() {
    branches++;
  }

  void leaveBranch() {
    branches--;
  }
}
