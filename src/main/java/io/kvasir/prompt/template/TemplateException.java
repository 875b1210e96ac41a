package io.kvasir.prompt.template;

/**
 * Thrown when a template cannot be parsed or rendered: the only exception of this package for bad templates and
 * requests.
 */
public abstract sealed class TemplateException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** A template may make a longer reason, and its sender gets it. */
  private static final int LONGEST_REASON = 2000;

  private final String reason;
  private int line;

  private TemplateException(String message, int line) {
    this.reason = message.length() <= LONGEST_REASON ? message : message.substring(0, LONGEST_REASON) + "…";
    this.line = line;
  }

  /** The template's line, from 1; 0 where it is not known. */
  public int line() {
    return line;
  }

  @Override
  public String getMessage() {
    return line == 0 ? reason : reason + " (line " + line + " of the chat template)";
  }

  /** The reason, without the line. */
  public String reason() {
    return reason;
  }

  /** Notes the line of the innermost statement; an outer one does not overwrite it. */
  void at(int statementLine) {
    if (line == 0) {
      line = statementLine;
    }
  }

  /** The source is not a template: the fault is in the model's files or the request's template. */
  public static final class Syntax extends TemplateException {
    private static final long serialVersionUID = 1L;

    Syntax(String message, int line) {
      super(message, line);
    }
  }

  /** The template did with these variables what is an error in Python: a type error, an attribute of None. */
  public static final class Evaluation extends TemplateException {
    private static final long serialVersionUID = 1L;

    Evaluation(String message) {
      super(message, 0);
    }
  }

  /** The request's body is not one that a template can be rendered for; the reason names the field. */
  public static final class Request extends TemplateException {
    private static final long serialVersionUID = 1L;

    /** The reason, for the sender of the request. */
    public Request(String message) {
      super(message, 0);
    }
  }

  /** The template that the request brings is not allowed, cannot be parsed or exceeds its limits. */
  public static final class RefusedTemplate extends TemplateException {
    private static final long serialVersionUID = 1L;

    /** What is wrong with it, and the remedy. */
    public RefusedTemplate(String message) {
      super(message, 0);
    }
  }

  /** The template called {@code raise_exception}: the model does not support this conversation. */
  public static final class Raised extends TemplateException {
    private static final long serialVersionUID = 1L;

    Raised(String message) {
      super(message, 0);
    }
  }

  /** The rendering would exceed its {@link RenderLimits}. */
  public static final class Limit extends TemplateException {
    private static final long serialVersionUID = 1L;

    /** The limit that would be exceeded. */
    public Limit(String message) {
      super(message, 0);
    }
  }
}
