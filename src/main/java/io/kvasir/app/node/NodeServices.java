package io.kvasir.app.node;

import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.membership.Membership;
import io.kvasir.cell.Cells;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.Pods;
import io.kvasir.telemetry.Metrics;
import org.apache.pekko.actor.typed.ActorSystem;

/**
 * What the parts of a node are built on. Confined to the thread that starts the node.
 *
 * @param survey of engines
 * @param resources what they own is closed when the gateway has drained
 */
record NodeServices(
    KvasirConfig config,
    TlsContexts tls,
    ActorSystem<Void> system,
    Membership membership,
    Cells cells,
    Pods pods,
    FleetDescription fleet,
    PodSurvey survey,
    Metrics metrics,
    Readiness readiness,
    Resources resources) {}
