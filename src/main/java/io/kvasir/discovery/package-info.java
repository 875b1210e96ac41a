/**
 * Workers that come and go while the routers run: a file that is watched, and Kubernetes. Each source says what pods
 * there are and the directory of the cells makes it so; one node of the cluster does the looking at a time.
 */
@NullMarked
package io.kvasir.discovery;

import org.jspecify.annotations.NullMarked;
