/**
 * The waiting room of a cell: who waits when the workers are full, in which order, and who is refused.
 *
 * <p>There is one for each cell, at its home, so that nodes together admit no more than one would. A request brings a
 * {@link io.kvasir.admission.Claim}: its class, tenant and program. A worker is chosen for it first, and with what it
 * may expect there, a {@link io.kvasir.admission.Prospect}, it passes the {@link io.kvasir.admission.Gate}s. Each has a
 * {@link io.kvasir.admission.Verdict}: it goes, it waits, or it is refused with an
 * {@link io.kvasir.admission.AdmissionRefusal} that names the setting and the figures. A request that waits has no
 * worker and no load booked; when it is its turn all of this happens anew. While nobody waits there is no queue to
 * look at.
 *
 * <p>Plain Java: no actors, and time is passed in.
 */
@NullMarked
package io.kvasir.admission;

import org.jspecify.annotations.NullMarked;
