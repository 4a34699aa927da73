;;; Says what Org reads in files, for tests/test_emacs.py.
;;; emacs --batch -Q -l reader.el JOB RESULT: JOB is a Lisp list of calls (FUNCTION ARGUMENT...); RESULT gets a JSON list of what they return.
(setq load-no-native t
      native-comp-enable-subr-trampolines nil
      make-backup-files nil auto-save-default nil create-lockfiles nil
      enable-local-variables nil large-file-warning-threshold nil
      system-time-locale "C" gc-cons-threshold 200000000
      coding-system-for-read 'utf-8-unix)
;; The cache of Org 9.5 remembers what was there before; without it, Org 9.7 lets a heading of the second level inherit from its neighbour.
(require 'org) (require 'org-element) (require 'org-agenda) (require 'json)
(setq org-inhibit-startup t org-element-use-cache (version<= "9.6" (org-version)) org-agenda-use-time-grid nil
      org-agenda-skip-deadline-if-done t org-agenda-skip-scheduled-if-done t org-agenda-skip-timestamp-if-done t
      org-agenda-inhibit-startup t org-agenda-window-setup 'current-window)

(defvar reader-today nil "Days since the year 1.")
(advice-add 'org-today :override (lambda () reader-today))

(defun reader-list (list) (vconcat list))
(defun reader-text (text) (if text (substring-no-properties text) nil))
(defun reader-end (element) (- (org-element-property :end element) (or (org-element-property :post-blank element) 0)))

(defun reader-outline (file)
  "Every heading of FILE: place, facts, inherited tags, and the properties of its drawer."
  (with-current-buffer (find-file-noselect file)
    (let (found)
      (goto-char (point-min))
      (while (re-search-forward org-outline-regexp-bol nil t)
        (beginning-of-line)
        (let* ((head (org-element-at-point)) (get (lambda (name) (org-element-property name head)))
               (block (org-get-property-block (point)))
               (names (when block (save-excursion (goto-char (car block))
                                    (let (all) (while (re-search-forward org-property-re (cdr block) t) (push (list (match-string-no-properties 2) (reader-text (match-string 3))) all)) (nreverse all))))))
          (push `((at . ,(1- (point))) (level . ,(funcall get :level)) (title . ,(reader-text (funcall get :raw-value)))
                  (keyword . ,(reader-text (funcall get :todo-keyword))) (done . ,(if (eq (funcall get :todo-type) 'done) t :json-false))
                  (priority . ,(if (funcall get :priority) (reader-priority (funcall get :priority)) nil))
                  (tags . ,(reader-list (mapcar #'substring-no-properties (funcall get :tags))))
                  (all . ,(reader-list (mapcar #'substring-no-properties (org-get-tags))))
                  (commented . ,(if (funcall get :commentedp) t :json-false)) (archived . ,(if (funcall get :archivedp) t :json-false))
                  (properties . ,(reader-list (mapcar #'vconcat names))))
                found))
        (end-of-line))
      (prog1 (reader-list (nreverse found)) (kill-buffer)))))

(defun reader-priority (value) (if (< value 48) (number-to-string value) (char-to-string value)))

(defun reader-elements (file)
  "What stands in FILE: for each kind a list of places and facts."
  (with-current-buffer (find-file-noselect file)
    (let* ((tree (org-element-parse-buffer))
           (all (lambda (types say) (reader-list (org-element-map tree types (lambda (e) (vconcat (funcall say e))) nil nil nil t)))))
      (prog1
          `((planning . ,(reader-list (apply #'append (org-element-map tree 'planning
                            (lambda (e) (delq nil (mapcar (lambda (kind) (let ((stamp (org-element-property kind e)))
                                                             (when stamp (vector (1- (org-element-property :begin stamp)) (1- (reader-end stamp)) (substring (symbol-name kind) 1)))))
                                                           '(:scheduled :deadline :closed))))))))
            (timestamps . ,(funcall all 'timestamp (lambda (e) (list (1- (org-element-property :begin e)) (1- (reader-end e)) (symbol-name (org-element-property :type e))))))
            (links . ,(funcall all 'link (lambda (e) (list (1- (org-element-property :begin e)) (1- (reader-end e)) (reader-text (org-element-property :type e)) (reader-text (org-element-property :path e))))))
            (items . ,(funcall all 'item (lambda (e) (list (1- (org-element-property :begin e)) (symbol-name (org-element-property :checkbox e))))))
            (tables . ,(funcall all 'table (lambda (e) (list (1- (org-element-property :post-affiliated e)) (length (org-element-map e 'table-row #'identity))))))
            (blocks . ,(funcall all '(src-block example-block export-block comment-block quote-block verse-block center-block special-block drawer dynamic-block)
                                (lambda (e) (list (1- (org-element-property :post-affiliated e)) (symbol-name (org-element-type e))))))
            (footnotes . ,(funcall all '(footnote-reference footnote-definition) (lambda (e) (list (1- (or (org-element-property :post-affiliated e) (org-element-property :begin e))) (symbol-name (org-element-type e)) (reader-text (org-element-property :label e)))))))
        (kill-buffer)))))

(defun reader-repeats (pairs)
  "For each (TIMESTAMP DAY): the first turn on or after DAY."
  (reader-list (mapcar (lambda (pair) (org-closest-date (car pair) (cadr pair) 'future)) pairs)))

(defun reader-agenda (files today start days)
  "The agenda of FILES as (day, file, heading's place, type, time) for DAYS days from START."
  (setq reader-today today org-agenda-files files)
  (dolist (file files) (with-current-buffer (find-file-noselect file) (set-buffer-modified-p nil)))
  (let ((inhibit-message t) found) (org-agenda-list nil start days)
    (with-current-buffer org-agenda-buffer
      (goto-char (point-min))
      (while (not (eobp))
        (let ((marker (get-text-property (point) 'org-hd-marker)) (type (get-text-property (point) 'type)) (day (get-text-property (point) 'day)))
          (when marker
            (push (vector day (buffer-file-name (marker-buffer marker)) (1- (marker-position marker)) type (or (get-text-property (point) 'time-of-day) nil)) found)))
        (forward-line 1)))
    (dolist (file files) (kill-buffer (find-file-noselect file)))
    (reader-list (nreverse found))))

(defun reader-sexps (triples)
  "What the agenda says for each (EXPRESSION ENTRY DAY); null where it says nothing."
  (require 'diary-lib)
  (reader-list (mapcar (lambda (triple)
                         (let ((said (org-diary-sexp-entry (nth 0 triple) (nth 1 triple) (calendar-gregorian-from-absolute (nth 2 triple)))))
                           (if (and said (not (stringp said))) (if (stringp (car-safe said)) (car said) (format "%S" said)) said)))
                       triples)))

(defun reader-clock (times)
  "Seconds since 1970 of (SECOND MINUTE HOUR DAY MONTH YEAR) on the clock of the system."
  (reader-list (mapcar (lambda (time) (float-time (apply #'encode-time time))) times)))

(let* ((job (pop command-line-args-left)) (result (pop command-line-args-left))
       (calls (with-temp-buffer (insert-file-contents job) (read (current-buffer))))
       (answers (mapcar (lambda (call) (condition-case err (apply (car call) (cdr call)) (error `((error . ,(error-message-string err)))))) calls))
       (coding-system-for-write 'utf-8-unix))
  (with-temp-file result (insert (json-encode (vconcat answers)))))
