package io.kvasir.admission;

/**
 * Keeps places at the workers for tenants that use little. Fair turns alone do not help these when all places are
 * taken: they are next, but wait until one of the others' answers has ended. So a tenant that has used up its share
 * leaves one place for each tenant that has not, at a worker that would begin their requests soon: a place behind a
 * long prompt is of no use to them. What that can cost is bounded: never more than a share of all places, rounded down,
 * so that a few places are all used. Thread-safe.
 */
public final class KeptPlacesGate implements Gate {
  private static final Verdict HOLD = new Verdict.Hold(HoldReason.KEPT);

  private final double share;

  /** A gate with the share of the settings. */
  public KeptPlacesGate(AdmissionSettings settings) {
    this.share = settings.keptPlaces();
  }

  @Override
  public Verdict check(Claim claim, Standing standing, Prospect prospect) {
    return prospect.freePlaces() >= Math.min(standing.rivals(), (int) (share * prospect.places()))
        ? Verdict.GO
        : HOLD;
  }
}
