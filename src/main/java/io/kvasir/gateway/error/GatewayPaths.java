package io.kvasir.gateway.error;

/** Paths of the gateway's own that begin as those of the APIs do. */
public final class GatewayPaths {
  /** That of the models, and what their names' paths begin with. */
  public static final String MODELS = "/v1/models";

  /** That of a dry run, alone or before the path of an API. */
  public static final String DRY_RUN = "/v1/route";

  private GatewayPaths() {}

  public static boolean isOfModels(String path) {
    return path.equals(MODELS) || path.startsWith(MODELS + "/");
  }

  public static boolean isDryRun(String path) {
    return path.equals(DRY_RUN) || path.startsWith(DRY_RUN + "/");
  }

  /** The path of the API that a dry run is for, whose format errors have; empty where that is to be inferred. */
  public static String dryRunTarget(String path) {
    return path.substring(DRY_RUN.length());
  }
}
