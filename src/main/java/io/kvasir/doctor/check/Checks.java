package io.kvasir.doctor.check;

import java.util.List;

/** The checks there are. */
public final class Checks {
  /** All of them, in the order of their findings: what causes other faults comes first. */
  public static final List<Check> ALL =
      List.of(
          new ReachableCheck(),
          new ModelsCheck(),
          new VersionsCheck(),
          new PrefixCachingCheck(),
          new BlockSizeCheck(),
          new RanksCheck(),
          new TokenizerCheck(),
          new TokensCheck(),
          new EventTransportCheck(),
          new EventFeedsCheck(),
          new EventsCheck(),
          new TopicCheck(),
          new SaltCheck(),
          new ReplayCheck(),
          new SnapshotCheck(),
          new CachedTokensCheck(),
          new DeliveredTokensCheck(),
          new HandOverCheck(),
          new ClockCheck(),
          new HashSeedCheck(),
          new PromptLengthCheck(),
          new LmCacheCheck(),
          new RouterSourcesCheck(),
          new NodesCheck(),
          new NodePortsCheck(),
          new NodeVersionsCheck(),
          new NodeSettingsCheck(),
          new CertificatesCheck(),
          new NodeCertificatesCheck(),
          new RouterCheck());

  private Checks() {}
}
