package io.kvasir.kubernetes;

import java.io.IOException;

/** An error status of the Kubernetes API, whose message has the API's own words. */
public final class KubernetesApiException extends IOException {
  private static final long serialVersionUID = 1L;

  private final int status;

  KubernetesApiException(int status, String message) {
    super(message);
    this.status = status;
  }

  /** Whether the resource version of a watch, or the next page of a list, is too old: list again. */
  public boolean isExpired() {
    return status == 410;
  }

  /** Whether there is no such object, or no such resource. */
  public boolean isMissing() {
    return status == 404;
  }

  /** Whether the object has changed since it was read. */
  public boolean isConflict() {
    return status == 409;
  }

  /** Whether the API has refused the request itself, and would refuse it again. */
  public boolean isRefusal() {
    return status == 400 || status == 401 || status == 403 || status == 404 || status == 422;
  }
}
