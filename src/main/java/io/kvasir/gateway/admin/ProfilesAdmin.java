package io.kvasir.gateway.admin;

import io.kvasir.routing.LiveProfiles;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The administration of profiles: shows them and reloads their files. Thread-safe. */
public interface ProfilesAdmin {
  /** The profiles requests go by. */
  LiveProfiles profiles();

  /** Since when they are in service as they are. */
  Instant loadedAt();

  /** Reads the operator's files and puts their profiles into service, all or none. Waits for the disk. */
  ReloadResult reload();

  /** What a reload came to. */
  sealed interface ReloadResult {
    /** The files are in service. */
    record Applied(LiveProfiles.Change change) implements ReloadResult {}

    /** The files have faults; everything stays as it was. */
    record Rejected(List<ProfileFault> faults) implements ReloadResult {}

    /** There are no files: the node was not started from one. */
    record NotSupported(String why) implements ReloadResult {}
  }

  /**
   * One thing wrong with what was to be loaded.
   *
   * @param setting the setting's full name
   * @param profile the profile's name, null when the fault is no profile's
   * @param plugin the plugin's name, null when the fault is no plugin's
   * @param file the file, empty when it is not known
   * @param line the line in it, 0 when it is not known
   * @param problem what is wrong
   * @param remedy what to do, empty where the problem implies it
   */
  record ProfileFault(
      String setting,
      @Nullable String profile,
      @Nullable String plugin,
      String file,
      int line,
      String problem,
      String remedy) {}
}
