package io.kvasir.app.admin;

/** A file cannot be read or changed; the message says why and what to do. */
final class UneditableException extends RuntimeException {
  private static final long serialVersionUID = 1;

  UneditableException(String message) {
    super(message);
  }
}
